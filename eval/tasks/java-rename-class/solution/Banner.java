final class Banner {
    private Banner() {}

    static String around(String text) {
        return TextTools.twice("*") + text + TextTools.twice("*");
    }
}
