/// The lines of a numbered list.
fn numbered(items: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut index = 0;
    while index < items.len() {
        lines.push(format!("{}. {}", index + 1, items[index]));
        index += 1;
    }
    lines
}

fn main() {
    let items: Vec<String> = std::env::args().skip(1).collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    for line in numbered(&items) {
        println!("{line}");
    }
}
