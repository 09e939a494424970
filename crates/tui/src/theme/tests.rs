use super::{Background, Rgb, Role, Theme, contrast};
use ratatui_core::style::{Color, Modifier, Style};

/// Backgrounds that people use: from black to dark grey, from white to light grey and cream.
const DARK: [Rgb; 4] = [[0, 0, 0], [0x1e, 0x1e, 0x1e], [0x00, 0x2b, 0x36], [0x30, 0x30, 0x30]];
const LIGHT: [Rgb; 3] = [[255, 255, 255], [0xfd, 0xf6, 0xe3], [0xee, 0xee, 0xee]];

#[test]
fn every_role_of_every_theme_is_readable_on_its_backgrounds() {
    for (name, background, behind) in [
        ("dark", Background::Dark, &DARK[..]),
        ("light", Background::Light, &LIGHT),
        ("high-contrast", Background::Dark, &DARK),
        ("high-contrast", Background::Light, &LIGHT),
        ("colour-blind", Background::Dark, &DARK),
        ("colour-blind", Background::Light, &LIGHT),
    ] {
        let theme = Theme::shipped(name, background).unwrap();
        for behind in behind {
            assert_eq!(theme.faint_roles(*behind), [], "{name} on {behind:?}");
        }
    }
    let theme = Theme::shipped("dark", Background::Dark).unwrap();
    assert!(theme.faint_roles([255; 3]).contains(&Role::Text), "the test can fail");
}

#[test]
fn all_shipped_themes_exist_and_high_contrast_has_seven_to_one() {
    for name in Theme::SHIPPED {
        assert_eq!(Theme::shipped(name, Background::Light).unwrap().name, name);
    }
    assert_eq!(Theme::shipped("solarised", Background::Dark), None);
    let theme = Theme::shipped("high-contrast", Background::Dark).unwrap();
    for role in Role::ALL {
        let (Some(text), behind) = (theme.style(role).fg, theme.style(role).bg) else { panic!() };
        let behind = behind.and_then(contrast::rgb).unwrap_or(DARK[1]);
        assert!(contrast::ratio(contrast::rgb(text).unwrap(), behind) >= 7.0, "{role:?}");
    }
}

#[test]
fn added_and_removed_differ_in_blue_for_those_who_confuse_red_and_green() {
    for background in [Background::Dark, Background::Light] {
        let theme = Theme::shipped("colour-blind", background).unwrap();
        let blue = |role| contrast::rgb(theme.style(role).fg.unwrap()).unwrap()[2];
        assert!(blue(Role::Added).abs_diff(blue(Role::Removed)) > 100);
    }
}

#[test]
fn a_theme_without_colours_keeps_its_modifiers() {
    let theme = Theme::terminal().without_colour();
    for role in Role::ALL {
        assert_eq!((theme.style(role).fg, theme.style(role).bg), (None, None));
    }
    assert!(theme.style(Role::User).add_modifier.contains(Modifier::BOLD));
}

#[test]
fn contrast_is_as_the_guidelines_define_it() {
    assert!((contrast::ratio([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
    assert!((contrast::ratio([0x77; 3], [255; 3]) - 4.478).abs() < 0.001);
    assert_eq!(Background::of([0x1e; 3]), Background::Dark);
    assert_eq!(Background::of([0xee; 3]), Background::Light);
}

#[test]
fn a_theme_of_the_user_changes_its_base() {
    let text = "base = \"dark\"\nlink = \"bright-blue\"\nheading = { fg = \"#102030\", bg = \"default\", bold = true, dim = false }\n";
    let theme = Theme::from_toml("mine", text, Background::Dark).unwrap();
    assert_eq!(theme.name, "mine");
    assert_eq!(theme.style(Role::Link), Style::new().fg(Color::LightBlue));
    let heading = Style::new().fg(Color::Rgb(0x10, 0x20, 0x30)).add_modifier(Modifier::BOLD);
    assert_eq!(theme.style(Role::Heading), heading);
    let dark = Theme::shipped("dark", Background::Dark).unwrap();
    assert_eq!(theme.style(Role::Text), dark.style(Role::Text));
    assert_eq!(theme.faint_roles([0; 3]), [Role::Heading]);
}

#[test]
fn themes_with_two_variants_follow_the_background() {
    for name in Theme::SHIPPED {
        let theme = Theme::shipped(name, Background::Dark).unwrap();
        assert_eq!(theme.follows_background(), ["high-contrast", "colour-blind"].contains(&name), "{name}");
        assert_eq!(theme.clone().on(Background::Light), Theme::shipped(name, Background::Light).unwrap());
        assert_eq!(theme.clone().on(Background::Light).on(Background::Dark), theme, "{name}");
    }
    let own = |base: &str| {
        let text = format!("base = \"{base}\"\nlink = \"red\"\n");
        let of = |background| Theme::from_toml("mine", &text, background).unwrap();
        Theme::following(of(Background::Dark), of(Background::Light))
    };
    let light = own("high-contrast").on(Background::Light);
    assert_eq!(light.style(Role::Link), Style::new().fg(Color::Red), "the user's own styles stay");
    let shipped = Theme::shipped("high-contrast", Background::Light).unwrap();
    assert_eq!(light.style(Role::Text), shipped.style(Role::Text));
    assert!(!own("dark").follows_background());
}

#[test]
fn a_mistake_in_a_theme_is_named_with_its_line_and_the_nearest_name() {
    for (text, line, expected) in [
        ("text = ", 1, "not valid TOML: "),
        ("# mine\nbase = \"drak\"", 2, "\"drak\" is no theme to begin with; did you mean \"dark\"?"),
        ("base = 1", 1, "1 is no theme to begin with; `base` is one of terminal, dark"),
        ("dim = \"red\"\nhaeding = \"red\"", 2, "unknown key \"haeding\"; did you mean \"heading\"?"),
        ("[text]\n\nblod = true", 3, "unknown key \"blod\"; did you mean \"bold\"?"),
        ("text = \"#12345\"", 1, "\"#12345\" is no colour for \"text\"; colours are"),
        ("text = \"#+12345\"", 1, "\"#+12345\" is no colour for \"text\""),
        ("link = \"brigth-red\"", 1, "did you mean \"bright-red\"?"),
        ("link = 7", 1, "7 is no colour for \"link\""),
        ("text = { bold = 1 }", 1, "\"text.bold\" is true or false, not 1"),
        // The first one of the file is named.
        ("name = 1\ncode = 2", 1, "for \"name\""),
    ] {
        let error = Theme::from_toml("mine", text, Background::Dark).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
        assert_eq!(error.line, line, "{text}");
    }
}

#[test]
fn the_theme_of_the_documents_can_be_used() {
    let page = include_str!("../../../../docs/terminal.md");
    let example = page.split("<!-- theme: begin -->").nth(1).and_then(|rest| rest.split("```").nth(1));
    let text = example.and_then(|block| block.strip_prefix("toml\n")).unwrap();
    let theme = Theme::from_toml("dusk", text, Background::Dark).unwrap();
    assert_eq!(theme.faint_roles([0x1e; 3]), []);
    let named: Vec<_> = Role::ALL.iter().filter(|role| !page.contains(&format!("`{}`", role.id()))).collect();
    let in_example =
        |role: &&Role| text.lines().any(|line| line.trim_start_matches('[').starts_with(role.id()));
    assert!(named.iter().all(in_example), "{named:?} are not in the page");
}
