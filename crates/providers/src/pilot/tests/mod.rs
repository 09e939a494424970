//! The grammar as a table, conversations played to their end, and what must never happen.

mod conversations;
mod phrasings;
mod random;
mod stream;
mod tools;
