public class Roman {
    private static final int[] VALUES = {1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1};
    private static final String[] LETTERS = {"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"};

    static String of(int number) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < VALUES.length; i++) {
            while (number >= VALUES[i]) {
                text.append(LETTERS[i]);
                number -= VALUES[i];
            }
        }
        return text.toString();
    }

    static void check() {
        assert of(7).equals("VII") : of(7);
        assert of(9).equals("IX") : of(9);
        assert of(2026).equals("MMXXVI") : of(2026);
    }

    public static void main(String[] args) {
        check();
        for (String arg : args) {
            System.out.println(of(Integer.parseInt(arg)));
        }
    }
}
