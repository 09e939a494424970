#include "stack.h"

int put(struct stack *stack, int number) {
    if (stack->count == STACK_ROOM) {
        return 0;
    }
    stack->items[stack->count++] = number;
    return 1;
}

int stack_pop(struct stack *stack) {
    return stack->count ? stack->items[--stack->count] : 0;
}
