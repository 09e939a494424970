#include <stdio.h>
#include "stack.h"

int main(void) {
    struct stack stack = {{0}, 0};
    put(&stack, 4);
    put(&stack, 5);
    printf("%d\n", stack_pop(&stack));
    puts("done");
    return 0;
}
