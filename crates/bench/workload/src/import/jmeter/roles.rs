//! What kinds of elements there are, and what is said about those that a
//! scenario has nothing for.

use super::super::notes::Fate;
use super::context::Context;
use super::tree::Element;

/// The part an element plays where steps are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Sends an HTTP request.
    Request,
    /// Pauses or stops.
    Action,
    /// Sends something else.
    OtherSampler,
    /// Has others below it and decides about them.
    Controller,
    /// Belongs to what stands beside or above it.
    Config,
}

/// The part of an element.
pub(super) fn role(element: &Element<'_>) -> Role {
    match element.kind {
        "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => Role::Request,
        "TestAction" => Role::Action,
        "InterleaveControl" | "RunTime" => Role::Controller,
        kind if kind.ends_with("Controller") => Role::Controller,
        kind if kind.ends_with("Sampler") || kind.ends_with("Request") => Role::OtherSampler,
        "SystemSampler" | "JMSSampler" | "SmtpSampler" => Role::OtherSampler,
        _ if element.children.iter().any(has_request) => Role::Controller,
        _ => Role::Config,
    }
}

fn has_request(element: &Element<'_>) -> bool {
    matches!(role_by_kind(element.kind), Some(Role::Request))
        || element.children.iter().any(has_request)
}

fn role_by_kind(kind: &str) -> Option<Role> {
    matches!(kind, "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2").then_some(Role::Request)
}

/// Whether it only shows or writes results.
pub(super) fn is_listener(kind: &str) -> bool {
    const KINDS: [&str; 8] = [
        "ResultCollector",
        "Summariser",
        "BackendListener",
        "ResultSaver",
        "MailerResultCollector",
        "DebugPostProcessor",
        "CorrectedResultCollector",
        "ViewResultsFullVisualizer",
    ];
    KINDS.contains(&kind) || kind.ends_with("Listener") || kind.ends_with("Visualizer")
}

/// Says what becomes of a configuration element that gives the scenario nothing.
pub(super) fn remark(context: &mut Context, element: &Element<'_>) {
    match element.kind {
        "HeaderManager"
        | "AuthManager"
        | "CSVDataSet"
        | "Arguments"
        | "UserParameters"
        | "CounterConfig"
        | "RandomVariableConfig" => {}
        "CookieManager" => {
            if !element
                .properties
                .members("CookieManager.cookies")
                .is_empty()
            {
                context.note(
                    Fate::LeftOut,
                    "the cookies it begins with; set them as a `Cookie` field or by a request",
                );
            }
        }
        "CacheManager" => context.note(
            Fate::LeftOut,
            "users have no cache of their own: they ask for everything each time",
        ),
        "DNSCacheManager" => {
            context.note(Fate::LeftOut, "names are resolved once; see `--resolve`")
        }
        "KeystoreConfig" => context.note(Fate::LeftOut, "client certificates are not sent"),
        "ResultAction" => context.note(
            Fate::LeftOut,
            "what a failure leads to is said by the flow's `stop_on_failure`",
        ),
        "ConfigTestElement" if element.gui.ends_with("HttpDefaultsGui") => {}
        "ProxyControl" | "WorkBench" | "HttpMirrorControl" => context.note(
            Fate::LeftOut,
            "it takes no part in a run; `forebay bench record` records",
        ),
        kind if kind.ends_with("PreProcessor") || kind.ends_with("PostProcessor") => context.note(
            Fate::LeftOut,
            "its script is not run; variables that it sets are empty",
        ),
        "URLRewritingModifier" | "AnchorModifier" | "RegExUserParameters" | "SampleTimeout" => {
            context.note(
                Fate::LeftOut,
                "it changes requests in a way that a scenario does not know",
            );
        }
        _ => context.note(Fate::LeftOut, "this kind of element is not known"),
    }
}
