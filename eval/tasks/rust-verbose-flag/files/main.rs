struct Options {
    files: Vec<String>,
    details: bool,
    limit: usize,
}

fn parse(args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { files: Vec::new(), details: false, limit: 10 };
    for arg in args {
        match arg.as_str() {
            "--chatty" => options.details = true,
            "--all" => options.limit = usize::MAX,
            other if other.starts_with("--") => return Err(format!("no option {other}")),
            file => options.files.push(file.to_string()),
        }
    }
    Ok(options)
}

fn main() {
    match parse(std::env::args().skip(1)) {
        Err(problem) => eprintln!("{problem}"),
        Ok(options) => {
            for file in options.files.iter().take(options.limit) {
                if options.details {
                    println!("{file}: {} letters", file.len());
                } else {
                    println!("{file}");
                }
            }
        }
    }
}
