//! The launcher alone, for the tests of this crate; the product's launcher is a hidden command of the binary.

fn main() -> std::process::ExitCode {
    system::run_sandboxed(&[], std::env::args().skip(1))
}
