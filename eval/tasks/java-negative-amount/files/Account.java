/** An account with whole cents. */
public class Account {
    private long balance;

    public Account(long balance) {
        if (balance < 0) {
            throw new IllegalArgumentException("a new account cannot be overdrawn");
        }
        this.balance = balance;
    }

    public void deposit(long amount) {
        positive(amount);
        balance += amount;
    }

    public void withdraw(long amount) {
        positive(amount);
        if (amount > balance) {
            throw new IllegalStateException("not enough money");
        }
        balance -= amount;
    }

    public long balance() {
        return balance;
    }

    private static void positive(long amount) {
        if (amount <= 0) {
            throw new ArithmeticException("an amount must be positive");
        }
    }
}
