//! Credentials: which principal a request comes from.
