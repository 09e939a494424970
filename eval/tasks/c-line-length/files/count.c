#include <stdio.h>
#include <string.h>

#define LINE_SIZE 322

/* Counts the words of a line. */
static int words(const char *line) {
    int count = 0, inside = 0;
    for (; *line; line++) {
        int space = *line == ' ' || *line == '\t' || *line == '\n';
        if (!space && !inside) {
            count++;
        }
        inside = !space;
    }
    return count;
}

int main(void) {
    /* Room for the line, its newline and the final zero. */
    char line[LINE_SIZE];
    long total = 0;
    while (fgets(line, sizeof line, stdin)) {
        total += words(line);
    }
    printf("%ld\n", total);
    return 0;
}
