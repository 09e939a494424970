//! What a line of JSON looks like from outside, found without building it.

/// What one pass over a line's bytes tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shape {
    /// How deeply arrays and objects nest.
    pub(crate) depth: usize,
    /// Whether the outermost object has both a `result` and an `error`.
    pub(crate) result_and_error: bool,
}

/// Looks at a line. Never fails: what is no JSON gives some shape too.
pub(crate) fn of(line: &str) -> Shape {
    let bytes = line.as_bytes();
    let mut shape = Shape::default();
    let (mut result, mut error) = (false, false);
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'[' | b'{' => {
                depth += 1;
                shape.depth = shape.depth.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at + 1);
                if depth == 1 && is_key(bytes, end + 1) {
                    match bytes.get(at + 1..end) {
                        Some(b"result") => result = true,
                        Some(b"error") => error = true,
                        _ => {}
                    }
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    shape.result_and_error = result && error;
    shape
}

/// The index of the quote that ends a string, or the end of the bytes.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn is_key(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..).and_then(|rest| rest.iter().find(|byte| !byte.is_ascii_whitespace())) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_depth_outside_strings_and_a_response_with_both_members() {
        for (line, depth, both) in [
            ("1", 0, false),
            (r#"{"a":[[1],{"b":2}]}"#, 3, false),
            (r#"{"a":"[[[[\"[["}"#, 1, false),
            (r#"{"result":1, "error" : {}}"#, 2, true),
            (r#"{"a":{"result":1,"error":2}}"#, 2, false),
            (r#"{"result":"error"}"#, 1, false),
            (r#"{"a":"unterminated"#, 1, false),
            (r#""\"#, 0, false),
        ] {
            assert_eq!(of(line), Shape { depth, result_and_error: both }, "{line}");
        }
        assert_eq!(of(&"[".repeat(100_000)).depth, 100_000);
    }
}
