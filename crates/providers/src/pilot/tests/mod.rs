//! The grammar as a table, whole conversations, and properties that must hold for any prompt.

mod conversations;
mod phrasings;
mod random;
mod stream;
mod tools;
