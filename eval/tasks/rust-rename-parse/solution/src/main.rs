mod entry;
mod list;

use entry::parse_entry;

fn main() {
    let first = parse_entry("milk=2");
    println!("{} {}", first.name, first.count);
    println!("{}", list::total("milk=2;eggs=6"));
}
