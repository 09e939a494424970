#include <stdio.h>

int sum(int a, int b, int c) {
    return a + b + c;
}

int largest(int a, int b, int c) {
    int result = a;
    if (b > result) {
        result = b;
    }
    if (c > result) {
        result = c;
    }
    return result;
}

int main(void) {
    printf("%d %d\n", sum(1, 2, 3), largest(1, 2, 3));
    return 0;
}
