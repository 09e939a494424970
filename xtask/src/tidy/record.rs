//! A struct as other modules see it.

use syn::{Token, Visibility, punctuated::Punctuated};

/// What other modules see of a struct.
pub(super) struct Record {
    pub(super) name: String,
    /// The last names of what it derives, such as `Clone`.
    pub(super) derives: Vec<String>,
    /// How many of its fields other modules can name.
    pub(super) visible_fields: usize,
}

impl Record {
    pub(super) fn of(item: &syn::ItemStruct) -> Self {
        let derives = item.attrs.iter().filter(|attribute| attribute.path().is_ident("derive"));
        let paths = derives.filter_map(|attribute| {
            attribute.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated).ok()
        });
        let last = |path: syn::Path| path.segments.last().map(|segment| segment.ident.to_string());
        let visible = item.fields.iter().filter(|field| is_visible(&field.vis)).count();
        Self {
            name: item.ident.to_string(),
            derives: paths.flatten().filter_map(last).collect(),
            visible_fields: if is_visible(&item.vis) { visible } else { 0 },
        }
    }
}

fn is_visible(visibility: &Visibility) -> bool {
    match visibility {
        Visibility::Public(_) => true,
        Visibility::Restricted(within) => !within.path.is_ident("self"),
        Visibility::Inherited => false,
    }
}
