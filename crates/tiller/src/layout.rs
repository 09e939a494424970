//! Texts of at most 80 columns.

/// The widest line, in columns.
const WIDTH: usize = 80;
/// The widest name that has its description beside it, in columns.
const WIDEST: usize = 24;
/// The indent of names.
const INDENT: &str = "  ";

/// Returns a paragraph with a line end.
pub(crate) fn paragraph(text: &str) -> String {
    wrapped(text.split_whitespace(), 0, "", WIDTH)
}

/// Returns names with their descriptions, in two columns. A long name has its description below.
pub(crate) fn definitions<N: AsRef<str>, D: AsRef<str>>(rows: &[(N, D)]) -> String {
    let widths = rows.iter().map(|(name, _)| name.as_ref().chars().count());
    let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or(INDENT.len());
    let indent = " ".repeat(INDENT.len() + width + 2);
    let row = |(name, description): &(N, D)| {
        let text = wrapped(description.as_ref().split_whitespace(), indent.len(), &indent, WIDTH);
        let name = name.as_ref();
        match name.chars().count() > width {
            true => {
                let name = wrapped(name.split_whitespace(), INDENT.len(), INDENT, WIDTH);
                format!("{INDENT}{name}{indent}{text}")
            }
            false => format!("{INDENT}{name:width$}  {text}"),
        }
    };
    rows.iter().map(row).collect()
}

/// Wraps words into lines that end before column `width`. The first line begins at column `begin`;
/// the others begin with `indent`.
pub(crate) fn wrapped<W: AsRef<str>>(
    words: impl IntoIterator<Item = W>,
    begin: usize,
    indent: &str,
    width: usize,
) -> String {
    let (mut all, mut column) = (String::new(), begin);
    for word in words {
        let word = word.as_ref();
        let length = word.chars().count();
        if !all.is_empty() && column + 1 + length > width {
            all = all + "\n" + indent;
            column = indent.len();
        } else if !all.is_empty() {
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
