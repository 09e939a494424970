#include <stdio.h>
#include "table.h"

/* Prints the readings, one a line. */
int main(void) {
    for (int i = 0; i < READINGS; i++) {
        printf("%d C\n", (int)readings[i]);
    }
    return 0;
}
