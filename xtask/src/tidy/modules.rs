//! A crate's files as the compiler sees them: which module stands where, and which file names items
//! of which other.
//!
//! A path is followed through `use` and re-exports to the file that defines the item, so naming
//! `crate::Mode` is naming the file of `Mode` and not `lib.rs`. Code that is compiled for tests
//! only is left out.

use super::record::Record;
use super::tree::Tree;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;
use syn::visit::{self, Visit};

/// How many re-exports a path may lead through.
const REEXPORTS: usize = 16;

/// The modules of one crate.
pub(super) struct Crate {
    modules: Vec<Module>,
}

/// One module, in a file of its own or inside another's.
struct Module {
    file: String,
    parent: Option<usize>,
    children: HashMap<String, Vec<usize>>,
    items: HashSet<String>,
    imports: Vec<Import>,
    paths: Vec<Vec<String>>,
    /// The types of `impl Type` blocks.
    implemented: Vec<Vec<String>>,
    records: Vec<Record>,
}

struct Import {
    /// `None` for a glob.
    alias: Option<String>,
    path: Vec<String>,
}

#[derive(Clone)]
enum Target {
    Module(usize),
    Item { file: String, name: String },
}

/// Which files a file names, and by which names.
pub(super) type Edges = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Reads every library and program of the workspace.
pub(super) fn crates(tree: &Tree) -> Vec<Crate> {
    let begins = |path: &str| {
        (path.starts_with("crates/") || path.starts_with("xtask/"))
            && (path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs"))
    };
    let roots = tree.files().iter().filter(|file| begins(&file.path));
    roots.filter_map(|file| Crate::read(tree, &file.path)).collect()
}

impl Crate {
    /// Reads the crate that begins with this file; `None` where it does not exist or does not
    /// parse.
    pub(super) fn read(tree: &Tree, root: &str) -> Option<Self> {
        let mut read = Self { modules: Vec::new() };
        read.add_file(tree, root, None)?;
        Some(read)
    }

    /// The file that the crate begins with.
    pub(super) fn root(&self) -> &str {
        &self.modules[0].file
    }

    /// Each file and the files that it names.
    pub(super) fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (at, module) in self.modules.iter().enumerate() {
            let from = edges.entry(module.file.clone()).or_default();
            let named = module.imports.iter().filter(|import| import.alias.is_some());
            for path in named.map(|import| &import.path).chain(&module.paths).chain(&module.implemented) {
                for target in self.resolve(at, path, REEXPORTS) {
                    if let Target::Item { file, name } = target
                        && file != module.file
                    {
                        from.entry(file).or_default().insert(name);
                    }
                }
            }
        }
        edges
    }

    /// Each struct with its file.
    pub(super) fn records(&self) -> impl Iterator<Item = (&str, &Record)> {
        let modules = self.modules.iter();
        modules.flat_map(|module| module.records.iter().map(|record| (module.file.as_str(), record)))
    }

    /// The file of the module that each file's module stands in.
    pub(super) fn parents(&self) -> HashMap<&str, &str> {
        let parent = |module: &Module| Some(self.modules[module.parent?].file.as_str());
        let pairs = self.modules.iter().filter_map(|module| Some((module.file.as_str(), parent(module)?)));
        pairs.filter(|(file, parent)| file != parent).collect()
    }

    /// `impl Type` blocks outside the module of their type and its children: file, type, and the
    /// type's file.
    pub(super) fn stray_impls(&self) -> Vec<(&str, String, String)> {
        let mut stray = Vec::new();
        for (at, module) in self.modules.iter().enumerate() {
            for path in &module.implemented {
                for target in self.resolve(at, path, REEXPORTS) {
                    if let Target::Item { file, name } = target
                        && !self.files_above(at).any(|above| above == file)
                    {
                        stray.push((module.file.as_str(), name, file));
                    }
                }
            }
        }
        stray
    }

    fn files_above(&self, module: usize) -> impl Iterator<Item = &str> {
        let modules = std::iter::successors(Some(module), |at| self.modules[*at].parent);
        modules.map(|at| self.modules[at].file.as_str())
    }

    fn add_file(&mut self, tree: &Tree, path: &str, parent: Option<usize>) -> Option<usize> {
        let file = syn::parse_file(&tree.get(path)?.text).ok()?;
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.strip_suffix(".rs").unwrap_or(name);
        let below = match stem {
            "lib" | "main" | "mod" => folder.to_owned(),
            _ => format!("{folder}/{stem}"),
        };
        Some(self.add(tree, path, &below, parent, &file.items))
    }

    /// `below`: the directory of the files of this module's children.
    fn add(
        &mut self,
        tree: &Tree,
        file: &str,
        below: &str,
        parent: Option<usize>,
        items: &[syn::Item],
    ) -> usize {
        let at = self.modules.len();
        let mut reader = Reader::default();
        items.iter().for_each(|item| reader.visit_item(item));
        let Reader { items, imports, paths, implemented, records, modules } = reader;
        self.modules.push(Module {
            file: file.to_owned(),
            parent,
            children: HashMap::new(),
            items,
            imports,
            paths,
            implemented,
            records,
        });
        for module in modules {
            let name = module.ident.to_string();
            let child = match &module.content {
                Some((_, items)) => Some(self.add(tree, file, &format!("{below}/{name}"), Some(at), items)),
                None => {
                    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
                    let places = match path_attribute(module) {
                        Some(path) => vec![format!("{folder}/{path}")],
                        None => vec![format!("{below}/{name}.rs"), format!("{below}/{name}/mod.rs")],
                    };
                    places.iter().find_map(|place| self.add_file(tree, place, Some(at)))
                }
            };
            if let Some(child) = child {
                self.modules[at].children.entry(name).or_default().push(child);
            }
        }
        at
    }

    /// What a path means that stands in a module.
    fn resolve(&self, module: usize, path: &[String], left: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return vec![Target::Module(module)] };
        match first.as_str() {
            "crate" => self.walk(0, rest, left),
            "self" => self.walk(module, rest, left),
            "super" => match self.modules[module].parent {
                Some(parent) if rest.first().is_some_and(|next| next == "super") => {
                    self.resolve(parent, rest, left)
                }
                Some(parent) => self.walk(parent, rest, left),
                None => Vec::new(),
            },
            _ => self.walk(module, path, left),
        }
    }

    fn walk(&self, module: usize, path: &[String], left: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return vec![Target::Module(module)] };
        let found = self.look_up(module, first, left).into_iter();
        found
            .flat_map(|target| match target {
                Target::Module(inner) => self.walk(inner, rest, left),
                // What follows the item is a variant or an associated item.
                item => vec![item],
            })
            .collect()
    }

    fn look_up(&self, at: usize, name: &str, left: usize) -> Vec<Target> {
        let module = &self.modules[at];
        let mut found: Vec<Target> =
            module.children.get(name).into_iter().flatten().map(|child| Target::Module(*child)).collect();
        if module.items.contains(name) {
            found.push(Target::Item { file: module.file.clone(), name: name.to_owned() });
        }
        let Some(left) = left.checked_sub(1) else { return found };
        for Import { alias, path } in &module.imports {
            match alias {
                // `use tool;` next to `mod tool;` would lead to itself.
                Some(alias) if alias == name && (path.len() > 1 || path[0] != name) => {
                    found.extend(self.resolve(at, path, left));
                }
                None if !module.items.contains(name) => {
                    for target in self.resolve(at, path, left) {
                        if let Target::Module(inner) = target
                            && inner != at
                        {
                            found.extend(self.look_up(inner, name, left));
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// Reads the items of one module, but not those of the modules inside it.
#[derive(Default)]
struct Reader<'ast> {
    items: HashSet<String>,
    imports: Vec<Import>,
    paths: Vec<Vec<String>>,
    implemented: Vec<Vec<String>>,
    records: Vec<Record>,
    modules: Vec<&'ast syn::ItemMod>,
}

impl Reader<'_> {
    fn import(&mut self, tree: &syn::UseTree, mut path: Vec<String>) {
        match tree {
            syn::UseTree::Path(syn::UsePath { ident, tree, .. }) => {
                path.push(ident.to_string());
                self.import(tree, path);
            }
            syn::UseTree::Name(syn::UseName { ident }) if ident == "self" => {
                self.imports.push(Import { alias: path.last().cloned(), path });
            }
            syn::UseTree::Name(syn::UseName { ident }) => {
                path.push(ident.to_string());
                self.imports.push(Import { alias: Some(ident.to_string()), path });
            }
            syn::UseTree::Rename(syn::UseRename { ident, rename, .. }) => {
                if ident != "self" {
                    path.push(ident.to_string());
                }
                self.imports.push(Import { alias: Some(rename.to_string()), path });
            }
            syn::UseTree::Glob(_) => self.imports.push(Import { alias: None, path }),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(tree, path.clone()));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'ast> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        use syn::Item;
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Union(item) => (&item.attrs, Some(&item.ident)),
            Item::Use(item) => (&item.attrs, None),
            _ => return,
        };
        if attributes.iter().any(is_for_tests) {
            return;
        }
        self.items.extend(name.map(ToString::to_string));
        match item {
            Item::Mod(module) => self.modules.push(module),
            Item::Use(item) => self.import(&item.tree, Vec::new()),
            Item::Impl(block) => {
                if let (None, syn::Type::Path(of)) = (&block.trait_, block.self_ty.as_ref()) {
                    self.implemented.push(segments(&of.path));
                }
                visit::visit_item(self, item);
            }
            Item::Struct(of) => {
                self.records.push(Record::of(of));
                visit::visit_item(self, item);
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.paths.push(segments(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        static STRING: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r#""(?:\\.|[^"\\])*""#).expect("the pattern is constant"));
        static PATH: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*").expect("the pattern is constant")
        });
        let tokens = called.tokens.to_string();
        for path in PATH.find_iter(&STRING.replace_all(&tokens, "")) {
            self.paths.push(path.as_str().split("::").map(|name| name.trim().to_owned()).collect());
        }
        self.visit_path(&called.path);
    }
}

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

fn is_for_tests(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
}

fn path_attribute(module: &syn::ItemMod) -> Option<String> {
    let attribute = module.attrs.iter().find(|attribute| attribute.path().is_ident("path"))?;
    match &attribute.meta.require_name_value().ok()?.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
        _ => None,
    }
}
