public class Order {
    private final int pieces;

    public Order(int pieces) {
        this.pieces = pieces;
    }

    public int discount() {
        return Discounts.forPieces(pieces);
    }
}
