#include <stdio.h>
#include <string.h>

/* How many vowels a text has. */
int vowels(const char *text) {
    int count = 0;
    for (; *text; text++) {
        if (strchr("aeiou", *text)) {
            count++;
        }
    }
    return count;
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        printf("%s %d\n", words[i], vowels(words[i]));
    }
    return 0;
}
