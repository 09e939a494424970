//! Stored sessions: search, resume, fork.
