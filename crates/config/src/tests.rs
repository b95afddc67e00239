//! Stories over whole files.
#[test]
fn show() {
    let text = std::fs::read_to_string("/tmp/fb-bad.toml").unwrap_or_default();
    let source = crate::Source {
        name: "forebay.toml".into(),
        text,
    };
    let bad = crate::parse(&source).unwrap_err();
    println!("{}", crate::render(&source, &bad, false));
    println!("{}", crate::reference::explain(None).unwrap_or_default());
    println!(
        "{}",
        crate::reference::explain(Some("pool")).unwrap_or_default()
    );
}
