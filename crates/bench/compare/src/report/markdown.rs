//! A report as Markdown: tables as pipes, charts left out, configurations folded away.

use std::fmt::Write as _;

use super::blocks::{Block, Entry, Table};

/// The whole file.
pub(super) fn render(title: &str, question: &str, blocks: &[Block]) -> String {
    let mut out = format!("# {}\n\n{}\n", text(title), text(question));
    for block in blocks {
        out.push('\n');
        render_block(&mut out, block);
    }
    out
}

/// Writing to a string does not fail.
fn render_block(out: &mut String, block: &Block) {
    let _ = match block {
        Block::Section(title) => writeln!(out, "## {}", text(title)),
        Block::Heading(title) => writeln!(out, "### {}", text(title)),
        Block::Paragraph(words) => writeln!(out, "{}", text(words)),
        Block::Notice(words) => writeln!(out, "> {}", text(words)),
        Block::List(items) => items
            .iter()
            .try_for_each(|item| writeln!(out, "- {}", text(item))),
        Block::Table(table) => {
            render_table(out, table);
            Ok(())
        }
        Block::Lines(_) | Block::Bars(_) => {
            // The line break before it is not needed either.
            out.pop();
            Ok(())
        }
        Block::Code(code) => writeln!(out, "{}", fenced(code)),
        Block::Details {
            summary,
            text: code,
        } => writeln!(
            out,
            "<details><summary>{}</summary>\n\n{}\n\n</details>",
            text(summary),
            fenced(code)
        ),
    };
}

fn render_table(out: &mut String, table: &Table) {
    if !table.caption.is_empty() {
        let _ = writeln!(out, "{}\n", text(&table.caption));
    }
    let heads: Vec<String> = table.columns.iter().map(|c| cell(c)).collect();
    let rule = if table.textual { "---" } else { "--:" };
    let rules = (0..heads.len()).map(|i| if i == 0 { "---" } else { rule });
    let _ = writeln!(out, "| {} |", heads.join(" | "));
    let _ = writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(entry).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

fn entry(entry: &Entry) -> String {
    let main = cell(&entry.text);
    let main = if entry.strong {
        format!("**{main}**")
    } else {
        main
    };
    if entry.small.is_empty() {
        main
    } else {
        format!("{main}<br>{}", cell(&entry.small))
    }
}

fn cell(words: &str) -> String {
    text(words).replace('|', "\\|").replace('\n', " ")
}

/// Text that is not taken for markup.
fn text(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '*' | '`' | '[' | ']' | '\\' => {
                safe.push('\\');
                safe.push(c);
            }
            _ => safe.push(c),
        }
    }
    safe
}

/// Text as it is, behind a fence that it does not contain.
fn fenced(code: &str) -> String {
    let mut fence = String::from("```");
    while code.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}", code.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_words_cannot_become_markup() {
        let blocks = [
            Block::Paragraph("<script> *x* [y](z)".into()),
            Block::Table(Table {
                columns: vec!["a|b".into()],
                rows: vec![vec![Entry::new("c|d\ne")]],
                ..Table::default()
            }),
            Block::Code("a\n```\nb".into()),
        ];
        let out = render("t", "q", &blocks);
        assert!(!out.contains("<script>"), "{out}");
        assert!(out.contains("\\*x\\*"), "{out}");
        assert!(
            out.contains("| a\\|b |") && out.contains("| c\\|d e |"),
            "{out}"
        );
        assert!(out.contains("````\na\n```\nb\n````"), "{out}");
    }
}
