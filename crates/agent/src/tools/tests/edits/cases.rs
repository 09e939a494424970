//! One mutation of a source file, and the edit that takes it back.

use std::ops::Range;

/// Numbers that are the same for the same seed (splitmix64).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// A block of lines that is to become another.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// The lines as they stand in the mutated file, with lines around them.
    pub(super) old: Vec<String>,
    /// The lines as they are to be.
    pub(super) new: Vec<String>,
    /// Where the old ones stand, from 0.
    pub(super) lines: Range<usize>,
}

/// A mutated file and what takes the mutation back.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) mutated: String,
    pub(super) original: String,
    pub(super) edit: Edit,
}

impl Case {
    /// A mutation of a file; `None` where the place does not lend itself.
    pub(super) fn of(name: &str, original: &str, numbers: &mut Numbers) -> Option<Self> {
        let lines: Vec<String> = original.lines().map(str::to_owned).collect();
        let at = numbers.below(lines.len());
        let count = (1 + numbers.below(3)).min(lines.len() - at);
        let place = at..at + count;
        let changed = mutation(&lines[place.clone()], numbers)?;
        let mut mutated = lines.clone();
        mutated.splice(place.clone(), changed.clone());
        let (before, after) = (place.start, mutated.len() - place.start - changed.len());
        // As many lines around as make the block the only one of its words, and one more.
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

/// How often lines stand side by side in a file, whatever their indentation.
fn places(file: &[String], lines: &[String]) -> usize {
    file.windows(lines.len())
        .filter(|window| window.iter().zip(lines).all(|(a, b)| a.trim() == b.trim()))
        .count()
}

/// Other lines in the place of some.
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
