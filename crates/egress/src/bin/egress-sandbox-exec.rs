//! The launcher as a program of its own, for this crate's tests.

fn main() -> std::process::ExitCode {
    system::run_sandboxed(&[], std::env::args().skip(1))
}
