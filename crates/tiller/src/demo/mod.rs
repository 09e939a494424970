//! `tiller demo`.
