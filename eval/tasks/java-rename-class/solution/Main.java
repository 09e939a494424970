public class Main {
    public static void main(String[] args) {
        System.out.println(Banner.around("go"));
        System.out.println(TextTools.letters("a1b2"));
    }
}
