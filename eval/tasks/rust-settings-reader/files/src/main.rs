mod settings;

use settings::Settings;

fn main() {
    let settings = Settings::obtain("app.conf");
    println!("{} {}", settings.name, settings.verbose);
}
