//! Session stores: the append-only event log in SQLite and in memory.
