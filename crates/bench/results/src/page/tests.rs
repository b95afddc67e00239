//! What holds for every page, whatever names are put into it.

use proptest::prelude::*;

use super::*;

/// A page with the text wherever text can be put.
fn page(text: &str) -> String {
    Page::new(text)
        .subtitle(text)
        .footer(text)
        .cards([Card::new(text, text).note(text)])
        .section(text)
        .section(text)
        .section(text)
        .section(text)
        .subsection(text)
        .paragraph(text)
        .notice(Tone::Bad, text)
        .list([text])
        .table(
            Table::new([Column::head(text), Column::number(text)])
                .caption(text)
                .row([
                    Cell::new(text),
                    Cell::new(text).hint(text).small(text).bar(0.5),
                ]),
        )
        .line_chart(
            LineChart::new(
                text,
                Axis::new(text, Unit::Seconds),
                Axis::new(text, Unit::Count),
            )
            .note(text)
            .series(Series::new(text, vec![(0.0, 1.0), (1.0, 2.0)]))
            .series(Series::new(text, vec![(0.0, 3.0)])),
        )
        .bar_chart(
            BarChart::new(text, Axis::new(text, Unit::Count), [text])
                .note(text)
                .series(text, vec![Some(Bar::from(1.0))])
                .series(text, vec![Some(Bar::from(2.0))]),
        )
        .code(text)
        .details(text, text)
        .to_html()
}

/// The page's markup with all text taken out: tags with their attributes' names, in order.
fn skeleton(html: &str) -> String {
    let body = html.split("</style>").nth(1).unwrap_or("");
    let body = body.split("<script>").next().unwrap_or("");
    let title = html
        .split("<title>")
        .nth(1)
        .and_then(|rest| rest.split("<style>").next());
    let mut shape = String::new();
    for text in [title.unwrap_or(""), body] {
        for tag in text.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').unwrap_or((tag, ""));
            // The values of attributes are at the odd places.
            shape.extend(tag.split('"').step_by(2).chain(["\n"]));
        }
    }
    shape
}

#[test]
fn every_element_is_closed() {
    let html = page("x");
    for tag in [
        "div", "figure", "table", "svg", "details", "main", "ul", "g", "button", "p",
    ] {
        let opened =
            html.matches(&format!("<{tag} ")).count() + html.matches(&format!("<{tag}>")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn a_page_needs_nothing_else() {
    let html = page("x");
    for outside in ["http://", "https://", "src=", "@import", "url(", "<link"] {
        assert!(!html.contains(outside), "{outside}");
    }
}

proptest! {
    #[test]
    fn no_text_becomes_markup(text in "[<>&\"'|/a-z=\u{0}-\u{1f} äµ-]{1,40}") {
        prop_assert_eq!(skeleton(&page(&text)), skeleton(&page("x")));
    }
}
