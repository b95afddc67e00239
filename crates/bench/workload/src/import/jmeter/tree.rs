//! A plan as a tree: JMeter writes each element followed by a `hashTree` with
//! what lies below it.

use roxmltree::{Document, Node, ParsingOptions};

/// So many XML nodes (elements, texts) are read.
const MAX_NODES: u32 = 4_000_000;
/// So deep may elements lie in one another.
const MAX_DEPTH: usize = 100;

/// Why a text is no tree of a plan.
pub(super) enum TreeError {
    /// In words.
    Broken(String),
    /// In words.
    TooLarge(String),
}

/// One element of the plan, with those below it.
#[derive(Clone, Debug)]
pub(super) struct Element<'a> {
    /// The class without its package: `HTTPSamplerProxy`.
    pub(super) kind: &'a str,
    /// The class of its panel, which tells configurations apart.
    pub(super) gui: &'a str,
    /// What the author called it.
    pub(super) name: &'a str,
    /// Whether it is switched on.
    pub(super) enabled: bool,
    /// Its properties.
    pub(super) properties: Properties<'a>,
    /// In order.
    pub(super) children: Vec<Element<'a>>,
}

/// Properties by name, as `stringProp` and its kin hold them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Properties<'a>(Node<'a, 'a>);

/// Parses the XML.
pub(super) fn document(text: &str) -> Result<Document<'_>, TreeError> {
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::NodesLimitReached => {
            TreeError::TooLarge(format!("more than {MAX_NODES} elements"))
        }
        error => TreeError::Broken(format!("not well-formed XML: {error}")),
    })
}

/// The elements at the top of the plan.
pub(super) fn elements<'a>(document: &'a Document<'a>) -> Result<Vec<Element<'a>>, TreeError> {
    let root = document.root_element();
    if root.tag_name().name() != "jmeterTestPlan" {
        return Err(TreeError::Broken(format!(
            "the root is <{}>, not <jmeterTestPlan>",
            root.tag_name().name()
        )));
    }
    below(root, 0)
}

fn below<'a>(tree: Node<'a, 'a>, depth: usize) -> Result<Vec<Element<'a>>, TreeError> {
    if depth > MAX_DEPTH {
        return Err(TreeError::TooLarge(format!(
            "elements lie more than {MAX_DEPTH} deep"
        )));
    }
    let mut out: Vec<Element<'a>> = Vec::new();
    for node in tree.children().filter(Node::is_element) {
        if node.tag_name().name() == "hashTree" {
            let children = below(node, depth + 1)?;
            match out.last_mut() {
                Some(owner) => owner.children.extend(children),
                None => out = children,
            }
        } else {
            out.push(element(node));
        }
    }
    Ok(out)
}

fn element<'a>(node: Node<'a, 'a>) -> Element<'a> {
    let tag = node.tag_name().name();
    Element {
        kind: tag.rsplit('.').next().unwrap_or(tag),
        gui: node.attribute("guiclass").unwrap_or_default(),
        name: node.attribute("testname").unwrap_or_default(),
        enabled: node.attribute("enabled") != Some("false"),
        properties: Properties(node),
        children: Vec::new(),
    }
}

impl<'a> Element<'a> {
    /// How many elements lie below.
    pub(super) fn count(&self) -> usize {
        self.children.iter().map(|child| 1 + child.count()).sum()
    }

    /// Where it lies in memory, to tell elements apart.
    pub(super) fn identity(&self) -> roxmltree::NodeId {
        self.properties.0.id()
    }

    /// Shorthand for [`Properties::text`].
    pub(super) fn text(&self, name: &str) -> &'a str {
        self.properties.text(name)
    }

    /// Shorthand for [`Properties::flag`].
    pub(super) fn flag(&self, name: &str) -> bool {
        self.properties.flag(name)
    }
}

impl<'a> Properties<'a> {
    /// A property's value as written; empty when it is not there.
    pub(super) fn text(self, name: &str) -> &'a str {
        self.find(name).map(value).unwrap_or_default()
    }

    /// Whether a property is `true`.
    pub(super) fn flag(self, name: &str) -> bool {
        self.text(name).trim() == "true"
    }

    /// The values of a collection of texts.
    pub(super) fn texts(self, name: &str) -> Vec<&'a str> {
        self.find(name)
            .into_iter()
            .flat_map(|list| list.children().filter(Node::is_element))
            .map(value)
            .collect()
    }

    /// The members of a collection of elements, or of collections.
    pub(super) fn members(self, name: &str) -> Vec<Properties<'a>> {
        self.find(name)
            .into_iter()
            .flat_map(|list| list.children().filter(Node::is_element))
            .map(Properties)
            .collect()
    }

    /// The values in this, when it is a collection of texts itself.
    pub(super) fn own_texts(self) -> Vec<&'a str> {
        self.0
            .children()
            .filter(Node::is_element)
            .map(value)
            .collect()
    }

    /// An element kept as a property.
    pub(super) fn inner(self, name: &str) -> Option<Properties<'a>> {
        self.find(name).map(Properties)
    }

    /// By the attribute `name`, or (numbers of older plans) by a child `<name>`.
    fn find(self, name: &str) -> Option<Node<'a, 'a>> {
        self.0
            .children()
            .filter(Node::is_element)
            .find(|node| match node.attribute("name") {
                Some(own) => own.trim() == name,
                None => child(*node, "name").is_some_and(|own| value(own).trim() == name),
            })
    }
}

fn child<'a>(node: Node<'a, 'a>, tag: &str) -> Option<Node<'a, 'a>> {
    node.children()
        .find(|child| child.is_element() && child.tag_name().name() == tag)
}

fn value<'a>(node: Node<'a, 'a>) -> &'a str {
    let holder = if node.attribute("name").is_none() {
        child(node, "value").unwrap_or(node)
    } else {
        node
    };
    holder.text().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn elements_own_the_tree_that_follows_them() {
        let text = r#"<jmeterTestPlan><hashTree>
            <TestPlan testname="P"/><hashTree>
              <org.example.Thing testname="A" enabled="false"/><hashTree><B testname="b"/></hashTree>
              <C><doubleProp><name>rate</name><value>1.5</value></doubleProp>
                 <stringProp name="s"> x </stringProp>
                 <collectionProp name="l"><stringProp name="1">a</stringProp><stringProp name="2"/></collectionProp>
              </C>
            </hashTree></hashTree></jmeterTestPlan>"#;
        let document = document(text).ok().unwrap();
        let plan = &elements(&document).ok().unwrap()[0];
        assert_eq!((plan.kind, plan.name, plan.count()), ("TestPlan", "P", 3));
        let (first, second) = (&plan.children[0], &plan.children[1]);
        assert_eq!((first.kind, first.enabled), ("Thing", false));
        assert_eq!(first.children[0].name, "b");
        assert_eq!((second.text("rate"), second.text("s")), ("1.5", " x "));
        assert_eq!(second.properties.texts("l"), ["a", ""]);
        assert_eq!(second.text("missing"), "");
    }

    #[test]
    fn depth_is_bounded() {
        let deep = |levels: usize| {
            let mut text = String::from("<jmeterTestPlan>");
            text.push_str(&"<hashTree><A/>".repeat(levels));
            text.push_str(&"</hashTree>".repeat(levels));
            text.push_str("</jmeterTestPlan>");
            text
        };
        let text = deep(50);
        assert!(elements(&document(&text).ok().unwrap()).is_ok());
        let text = deep(20_000);
        let error = match document(&text) {
            Ok(document) => elements(&document).err(),
            Err(error) => Some(error),
        };
        assert!(error.is_some());
    }
}
