mod entry;
mod list;

use entry::read_it;

fn main() {
    let first = read_it("milk=2");
    println!("{} {}", first.name, first.count);
    println!("{}", list::total("milk=2;eggs=6"));
}
