//! A mutation of a source file, and the edit that reverts it.

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    ops::Range,
};

/// A pseudo-random number generator with reproducible output per seed (splitmix64).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    /// Returns the numbers that belong to a value.
    pub(super) fn of(value: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        Self(hasher.finish())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, which must not be 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// The replacement of a block of lines.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// The lines in the mutated file, with context lines.
    pub(super) old: Vec<String>,
    /// The lines after the edit.
    pub(super) new: Vec<String>,
    /// The 0-based range of the old lines.
    pub(super) lines: Range<usize>,
}

/// A mutated file and the edit that reverts the mutation.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) mutated: String,
    pub(super) original: String,
    pub(super) edit: Edit,
}

impl Case {
    /// Mutates a file at a random place; `None` if that place cannot be mutated.
    pub(super) fn of(name: &str, original: &str, numbers: &mut Numbers) -> Option<Self> {
        let lines: Vec<String> = original.lines().map(str::to_owned).collect();
        let at = numbers.below(lines.len());
        let count = (1 + numbers.below(3)).min(lines.len() - at);
        let place = at..at + count;
        let changed = mutation(&lines[place.clone()], numbers)?;
        let mut mutated = lines.clone();
        mutated.splice(place.clone(), changed.clone());
        let (before, after) = (place.start, mutated.len() - place.start - changed.len());
        // As many context lines as make the block unique, and one more.
        let mut around = 1;
        let (from, to) = loop {
            let from = before - around.min(before);
            let to = place.start + changed.len() + around.min(after);
            if places(&mutated, &mutated[from..to]) == 1 {
                break (from, to);
            }
            around += 1;
            if around > 12 {
                return None;
            }
        };
        let new =
            [&lines[from..place.end], &lines[place.end..place.end + (to - place.start - changed.len())]]
                .concat();
        let edit = Edit { old: mutated[from..to].to_vec(), new, lines: from..to };
        let text = |lines: &[String]| lines.join("\n") + "\n";
        Some(Self { name: name.to_owned(), mutated: text(&mutated), original: text(&lines), edit })
    }
}

/// Returns how often the lines occur consecutively in a file, ignoring indentation.
fn places(file: &[String], lines: &[String]) -> usize {
    file.windows(lines.len())
        .filter(|window| window.iter().zip(lines).all(|(a, b)| a.trim() == b.trim()))
        .count()
}

/// Returns mutated lines in place of `lines`.
fn mutation(lines: &[String], numbers: &mut Numbers) -> Option<Vec<String>> {
    const SWAPS: [(&str, &str); 12] = [
        ("==", "!="),
        (" < ", " <= "),
        ("true", "false"),
        ("&&", "||"),
        (" and ", " or "),
        ("+ 1", "- 1"),
        ("Some(", "Ok("),
        ("return ", "yield "),
        ("\"", "'"),
        ("self.", "this."),
        ("(", "(0, "),
        (".unwrap()", "?"),
    ];
    let mut mutated = lines.to_vec();
    let which = numbers.below(lines.len());
    let line = lines[which].clone();
    match numbers.below(5) {
        0 => drop(mutated.remove(which)),
        1 if !line.trim().is_empty() => {
            mutated.insert(which, line.replace(|char: char| char.is_alphabetic(), "x"))
        }
        2 if lines.len() > 1 => mutated.swap(0, lines.len() - 1),
        _ => {
            let start = numbers.below(SWAPS.len());
            let swaps = (0..SWAPS.len()).map(|index| SWAPS[(start + index) % SWAPS.len()]);
            let (from, to) = swaps.into_iter().find(|(from, _)| line.contains(from))?;
            mutated[which] = line.replacen(from, to, 1);
        }
    }
    (mutated != lines).then_some(mutated)
}
