//! What a message is made of: pasted text and images.
