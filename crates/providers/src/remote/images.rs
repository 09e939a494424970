//! Images that a server refuses become text in the request. The session keeps them: another model
//! may accept them.

use agent::{Content, Item, Message};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Replaces the newest image by a text. Returns a hash of its data.
pub(crate) fn drop_newest(messages: &mut [Message]) -> Option<u64> {
    images(messages).last().map(replace)
}

/// Replaces all images by texts. Returns hashes of their data.
pub(crate) fn drop_all(messages: &mut [Message]) -> Vec<u64> {
    images(messages).map(replace).collect()
}

/// Replaces the images that were refused before, given by the hashes of their data.
pub(crate) fn drop_refused(messages: &mut [Message], refused: &HashSet<u64>) {
    // Nearly always; hashing every image of a conversation would cost time at each request.
    if refused.is_empty() {
        return;
    }
    for image in images(messages).filter(|image| refused.contains(&print(image))) {
        replace(image);
    }
}

fn images(messages: &mut [Message]) -> impl Iterator<Item = &mut Content> {
    messages
        .iter_mut()
        .flat_map(|message| match message {
            Message::User(content) => content.iter_mut().collect::<Vec<_>>(),
            Message::Assistant(answer) => {
                let results = answer.items.iter_mut().filter_map(|item| match item {
                    Item::Call(call) => Some(&mut call.result.images),
                    _ => None,
                });
                results.flatten().collect()
            }
        })
        .filter(|content| matches!(content, Content::Image { .. }))
}

fn replace(image: &mut Content) -> u64 {
    let print = print(image);
    if let Content::Image { mime_type, .. } = image {
        *image = Content::text(format!("[an image ({mime_type}) was here; the server refused it]"));
    }
    print
}

fn print(image: &Content) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Content::Image { data, .. } = image {
        data.hash(&mut hasher);
    }
    hasher.finish()
}
