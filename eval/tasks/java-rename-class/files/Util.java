/** Small things for texts. */
final class Util {
    private Util() {}

    static String twice(String text) {
        return text + text;
    }

    static int letters(String text) {
        return (int) text.chars().filter(Character::isLetter).count();
    }
}
