//! Texts of at most 80 columns.

/// The widest line, in columns.
const WIDTH: usize = 80;
/// The widest name that has its description beside it, in columns.
const WIDEST: usize = 24;
/// The indent of names.
const INDENT: &str = "  ";

/// Returns a paragraph with a line end.
pub(crate) fn paragraph(text: &str) -> String {
    wrapped(text, "", WIDTH)
}

/// Returns names with their descriptions, in two columns. A long name has its description below.
pub(crate) fn definitions<N: AsRef<str>, D: AsRef<str>>(rows: &[(N, D)]) -> String {
    let widths = rows.iter().map(|(name, _)| name.as_ref().chars().count());
    let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(INDENT.len());
    let indent = " ".repeat(INDENT.len() + width + 2);
    let row = |(name, description): &(N, D)| {
        let text = wrapped(description.as_ref(), &indent, WIDTH - indent.len());
        let name = name.as_ref();
        match name.chars().count() > width {
            true => format!("{INDENT}{}{indent}{text}", wrapped(name, INDENT, WIDTH - INDENT.len())),
            false => format!("{INDENT}{name:width$}  {text}"),
        }
    };
    rows.iter().map(row).collect()
}

/// Wraps a text into lines of at most `width` columns; those after the first begin with `indent`.
fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let (mut all, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            all = all + "\n" + indent;
            column = 0;
        } else if column > 0 {
            all.push(' ');
            column += 1;
        }
        all += word;
        column += length;
    }
    all + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_wrapped_below_themselves() {
        let rows = [("a", "x ".repeat(45)), ("name", "y".to_owned())];
        let text = definitions(&rows);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], format!("  a     {}x", "x ".repeat(35)));
        assert_eq!(lines[1], format!("        {}x", "x ".repeat(8)));
        assert_eq!(lines[2], "  name  y");
        let long = definitions(&[("x".repeat(30), "y"), ("a".to_owned(), "b")]);
        assert_eq!(long, format!("  {}\n     y\n  a  b\n", "x".repeat(30)));
    }
}
