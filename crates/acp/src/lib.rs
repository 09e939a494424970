//! The Agent Client Protocol: the only crate that names its SDK.
