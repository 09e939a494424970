//! A scripted editor for tests.
