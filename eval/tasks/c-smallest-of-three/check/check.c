#undef main
int smallest(int a, int b, int c);
int main(void) {
    int good = smallest(1, 2, 3) == 1 && smallest(5, -2, 3) == -2 && smallest(5, 4, 3) == 3 && smallest(2, 2, 2) == 2;
    return good ? 0 : 1;
}
