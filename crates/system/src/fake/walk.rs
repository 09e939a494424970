//! Walks the fake's tree with the ignore rules of the real system.

use super::tree::{Node, Tree};
use crate::text::SKIPPED_DIRECTORIES;
use crate::{AbsPath, SystemError, WalkOptions};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeMap;

/// The names of ignore files. In the same directory, a later one overrides an earlier one.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

pub(super) fn walk(tree: &Tree, root: &AbsPath, options: &WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
    let real = tree.resolve(root)?;
    if tree.file(&real).is_ok() {
        return Ok(vec![root.clone()]);
    }
    tree.read_dir(&real)?;
    let rules = Rules::read(tree);
    let files = tree
        .below(&real)
        .filter(|(path, node)| {
            matches!(node, Node::File(..)) && (options.include_ignored || !is_skipped(path, &real, &rules))
        })
        .map(|(path, _)| root.join(path.relative_to(&real).expect("it was found below")));
    Ok(files.take(options.limit).collect())
}

/// Returns whether the file, or a directory between it and the root of the walk, is skipped.
fn is_skipped(file: &AbsPath, root: &AbsPath, rules: &Rules) -> bool {
    let chain = std::iter::successors(Some(file.clone()), AbsPath::parent).take_while(|path| path != root);
    chain.into_iter().any(|path| {
        let is_directory = &path != file;
        let name = path.file_name().unwrap_or_default();
        match rules.decide(&path, is_directory) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => name.starts_with('.'),
        }
        .max(is_directory && SKIPPED_DIRECTORIES.contains(&name))
    })
}

/// The ignore rules by directory.
struct Rules(BTreeMap<AbsPath, Gitignore>);

impl Rules {
    fn read(tree: &Tree) -> Self {
        let mut builders: BTreeMap<AbsPath, GitignoreBuilder> = BTreeMap::new();
        let root = AbsPath::new("/").expect("the root is absolute");
        for name in IGNORE_FILES {
            for (path, node) in tree.below(&root) {
                let (Node::File(bytes, _), Some(directory)) = (node, path.parent()) else { continue };
                if path.file_name() != Some(name) {
                    continue;
                }
                let builder = builders
                    .entry(directory.clone())
                    .or_insert_with(|| GitignoreBuilder::new(directory.as_std()));
                for line in String::from_utf8_lossy(bytes).lines() {
                    // An invalid pattern ignores nothing, as in git.
                    builder.add_line(None, line).ok();
                }
            }
        }
        let built =
            builders.into_iter().filter_map(|(directory, builder)| Some((directory, builder.build().ok()?)));
        Self(built.collect())
    }

    /// Returns the decision of the deepest directory whose rules match.
    fn decide(&self, path: &AbsPath, is_directory: bool) -> Match<()> {
        std::iter::successors(path.parent(), AbsPath::parent)
            .filter_map(|above| self.0.get(&above))
            .map(|rules| rules.matched(path.as_std(), is_directory).map(|_| ()))
            .find(|decision| !decision.is_none())
            .unwrap_or(Match::None)
    }
}
