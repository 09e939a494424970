//! Walking the fake's tree with the ignore rules of the real one.

use super::tree::{Node, Tree};
use crate::text::SKIPPED_FOLDERS;
use crate::{AbsPath, SystemError, WalkOptions};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::collections::BTreeMap;

/// The names of files with ignore rules; a later one wins over an earlier one in the same folder.
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
            matches!(node, Node::File(..)) && (options.include_ignored || !passed_over(path, &real, &rules))
        })
        .map(|(path, _)| root.join(path.relative_to(&real).expect("it was found below")));
    Ok(files.take(options.limit).collect())
}

/// Whether the file, or a folder between it and the root of the walk, is not to be walked.
fn passed_over(file: &AbsPath, root: &AbsPath, rules: &Rules) -> bool {
    let chain = std::iter::successors(Some(file.clone()), AbsPath::parent).take_while(|path| path != root);
    chain.into_iter().any(|path| {
        let folder = &path != file;
        let name = path.file_name().unwrap_or_default();
        match rules.decide(&path, folder) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => name.starts_with('.'),
        }
        .max(folder && SKIPPED_FOLDERS.contains(&name))
    })
}

/// The rules by the folder that they stand in.
struct Rules(BTreeMap<AbsPath, Gitignore>);

impl Rules {
    fn read(tree: &Tree) -> Self {
        let mut builders: BTreeMap<AbsPath, GitignoreBuilder> = BTreeMap::new();
        let root = AbsPath::new("/").expect("the root is absolute");
        for name in IGNORE_FILES {
            for (path, node) in tree.below(&root) {
                let (Node::File(bytes, _), Some(folder)) = (node, path.parent()) else { continue };
                if path.file_name() != Some(name) {
                    continue;
                }
                let builder =
                    builders.entry(folder.clone()).or_insert_with(|| GitignoreBuilder::new(folder.as_std()));
                for line in String::from_utf8_lossy(bytes).lines() {
                    // A line that is no pattern ignores nothing, as with git.
                    builder.add_line(None, line).ok();
                }
            }
        }
        let built =
            builders.into_iter().filter_map(|(folder, builder)| Some((folder, builder.build().ok()?)));
        Self(built.collect())
    }

    /// The deepest folder whose rules say anything decides.
    fn decide(&self, path: &AbsPath, folder: bool) -> Match<()> {
        std::iter::successors(path.parent(), AbsPath::parent)
            .filter_map(|above| self.0.get(&above))
            .map(|rules| rules.matched(path.as_std(), folder).map(|_| ()))
            .find(|decision| !decision.is_none())
            .unwrap_or(Match::None)
    }
}
