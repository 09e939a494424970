#include <stdio.h>
#include <stdlib.h>

enum { GOOD = 0, BAD_USAGE = 2, NO_INPUT = 66, BAD_NUMBER = 65 };

static int add(FILE *input, long *total) {
    char line[64];
    while (fgets(line, sizeof line, input)) {
        char *end;
        long number = strtol(line, &end, 10);
        if (end == line) {
            return BAD_NUMBER;
        }
        *total += number;
    }
    return GOOD;
}

int main(int count, char **words) {
    long total = 0;
    if (count != 2) {
        fprintf(stderr, "usage: sum FILE\n");
        return BAD_USAGE;
    }
    FILE *input = fopen(words[1], "r");
    if (!input) {
        perror(words[1]);
        return NO_INPUT;
    }
    int code = add(input, &total);
    fclose(input);
    if (code == GOOD) {
        printf("%ld\n", total);
    }
    return code;
}
