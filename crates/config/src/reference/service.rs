//! The rows of what is done with a request, which sites and path rules share: who answers, files,
//! and how scripts are found. Rules and limits are in `rules`.

use std::path::PathBuf;

use crate::address::{self, Refused};
use crate::draft::{Php, ServiceDraft, Spanned};
use crate::settings::{Coding, Priority, Symlinks};
use crate::words;

use super::disk::absolute;
use super::nested;
use super::setting::Setting;
use super::value::each_bare;
use super::{DAY, YEAR};

const CODINGS: &str = "\"br\", \"zstd\" or \"gzip\"";

/// Who answers.
#[rustfmt::skip]
pub(crate) static ANSWERS: &[Setting<ServiceDraft>] = &[
    Setting::text("pool", "the name of a [pool.NAME] or [app.NAME]", |draft: &mut ServiceDraft, text| {
        draft.pool = Some(text);
        Ok(())
    })
    .row("site", "the only pool, if there is one only and nothing else answers", "\"app\"",
        "The pool that answers what neither the cache nor files do. It may be left out where `root`, `php`, `redirect` or `respond` answers."),
    Setting::choice("priority", &["high", "normal", "low"], |draft: &mut ServiceDraft, word| {
        draft.service.priority = match word {
            "high" => Priority::High,
            "low" => Priority::Low,
            _ => Priority::Normal,
        };
    })
    .row("site", "\"normal\"", "\"high\"", "The place of these requests in the queue of a pool with `max_connections`."),
    Setting::shape("php", "a server such as \"unix:/run/php/php-fpm.sock\" or \"127.0.0.1:9000\", or a list of them", |draft: &mut ServiceDraft, row, given, out| {
        let mut refused = Vec::new();
        let texts = nested::text_or_list((row, given), out);
        let servers = each_bare(texts, address::fastcgi_server, &mut refused);
        out.extend(given.refused(row, refused));
        draft.php = Some(Spanned { value: Php::Servers(servers), span: given.span.clone() });
    })
    .row("site", "none", "\"unix:/run/php/php-fpm.sock\"",
        "Where PHP-FPM listens: what ends in `cgi_extension` goes there if the file is there, everything else is answered from `root` (or by the pool). It makes a pool `SITE-php`, whose settings can be given in [pool.SITE-php]."),
    Setting::text("php_pool", "the name of a [pool.NAME] with protocol = \"fastcgi\"", |draft: &mut ServiceDraft, text| {
        draft.php = Some(Spanned { value: Php::Pool(text.value), span: text.span });
        Ok(())
    })
    .row("site", "none", "\"php\"", "The same with a pool of yours in place of `php`."),
];

/// `root` and what belongs to it.
#[rustfmt::skip]
pub(crate) static FILES: &[Setting<ServiceDraft>] = &[
    Setting::text("root", "the absolute path of a directory, or \"off\"", |draft: &mut ServiceDraft, text| {
        draft.root = match text.value.as_str() {
            "off" => None,
            path => Some(PathBuf::from(absolute(path)?)),
        };
        Ok(())
    })
    .row("site", "\"off\"", "\"/srv/shop/public\"",
        "Files that answer before the pool is asked. Nothing outside of it is ever served."),
    Setting::list("index", "names such as \"index.html\"", |draft: &mut ServiceDraft, list, wrong| {
        draft.index = Some(each_bare(list, words::file_name, wrong));
    })
    .row("site", "`index.html`; with `php`: `index.php`, then `index.html`", "[\"index.html\", \"default.htm\"]",
        "What answers for a directory, the first that is there."),
    Setting::shape("try_files", "a list of templates such as [\"{path}\", \"{path}/\", \"/index.html\"]; the last may be a status such as \"=404\"", |draft: &mut ServiceDraft, row, given, out| {
        let mut refused = Vec::new();
        let texts = nested::text_or_list((row, given), out);
        let last = texts.len().saturating_sub(1);
        let mut tried = Vec::new();
        for (at, text) in texts.into_iter().enumerate() {
            match words::try_file(&text.value, &draft.groups, at == last) {
                Ok(text) => tried.push(text),
                Err(value) => refused.push(Spanned { value, span: text.span }),
            }
        }
        out.extend(given.refused(row, refused));
        draft.files.try_files = tried;
    })
    .between(1, u64::MAX)
    .row("site", "`{path}`, `{path}/`, then the pool if there is one", "[\"{path}\", \"/index.html\"]",
        "What is looked for below `root`, in this order; one that ends in `/` is a directory. `{path}` is the decoded path, `{host}` the host. The last may be a status, `=404`."),
    Setting::flag("listing", |draft: &mut ServiceDraft, on| draft.files.listing = on)
        .row("site", "false", "true", "Whether a directory without an index is listed."),
    Setting::choice("symlinks", &["inside", "never", "follow"], |draft: &mut ServiceDraft, word| {
        draft.files.symlinks = match word {
            "never" => Symlinks::Never,
            "follow" => Symlinks::Follow,
            _ => Symlinks::Inside,
        };
    })
    .row("site", "\"inside\"", "\"never\"",
        "What symbolic links may do: be followed while they stay below `root`, not be followed (404), or lead anywhere."),
    Setting::flag("hidden_files", |draft: &mut ServiceDraft, on| draft.files.hidden = on)
        .row("site", "false", "true", "Whether names that begin with a dot are served. What is below `/.well-known/` always is."),
    Setting::list("precompressed", CODINGS, |draft: &mut ServiceDraft, list, wrong| {
        draft.files.precompressed = each_bare(list, words::coding, wrong);
    })
    .row("site", "[]", "[\"br\", \"gzip\"]",
        "Compressed files that are looked for beside a file, and sent to clients that take them: `page.html.br`, `.zst`, `.gz`."),
    Setting::size("cached_file", |draft: &mut ServiceDraft, bytes| draft.files.cached_bytes = bytes)
        .between(0, 1 << 30)
        .row("site", "\"256KiB\"", "\"1MiB\"", "Files up to this size are kept in the cache's memory; 0: none."),
    Setting::time("file_check", |draft: &mut ServiceDraft, time| draft.files.check = time)
        .between(0, DAY)
        .row("site", "\"1s\"", "\"10s\"", "How long they are served from there before it is looked whether they have changed."),
    Setting::time_or_off("max_age", |draft: &mut ServiceDraft, time| draft.files.max_age = time)
        .between(0, 10 * YEAR)
        .row("site", "\"off\"", "\"30d\"", "`Cache-Control: max-age` of files; off: no such field."),
    Setting::shape("types", "a table of media types by extension, such as { mjs = \"text/javascript\" }", |draft: &mut ServiceDraft, row, given, out| {
        draft.files.types = nested::texts((row, given), out, words::media_type_of).into_iter().collect();
    })
    .row("site", "{}", "{ mjs = \"text/javascript\" }", "Media types of files, over the usual ones."),
    Setting::text("charset", "the name of a character set, or \"off\"", |draft: &mut ServiceDraft, text| {
        draft.files.charset = match text.value.as_str() {
            "off" => None,
            name => Some(words::field_name(name).map_err(|_| Refused::new(format!("`{name}` is not the name of a character set")))?),
        };
        Ok(())
    })
    .row("site", "\"utf-8\"", "\"iso-8859-1\"", "What is added to `text/*` and similar types of files."),
];

/// How scripts are found.
#[rustfmt::skip]
pub(crate) static CGI: &[Setting<ServiceDraft>] = &[
    Setting::text("cgi_root", "the absolute path of a directory", |draft: &mut ServiceDraft, text| {
        draft.service.cgi.root = Some(PathBuf::from(absolute(&text.value)?));
        Ok(())
    })
    .row("site", "`root`", "\"/var/www/html\"", "Where scripts lie as the FastCGI, SCGI or uwsgi server sees it, where that is another place than `root` (a container)."),
    Setting::text("cgi_index", "a name such as \"index.php\"", |draft: &mut ServiceDraft, text| {
        draft.service.cgi.index = words::file_name(&text.value)?;
        Ok(())
    })
    .row("site", "\"index.php\"", "\"app.php\"", "The script of a path that ends in `/`."),
    Setting::text("cgi_extension", "an extension such as \".php\", or \"\"", |draft: &mut ServiceDraft, text| {
        draft.cgi_extension = Some(words::extension(&text.value)?);
        Ok(())
    })
    .row("site", "`.php`; for a pool that speaks SCGI or uwsgi: none", "\".phtml\"",
        "What ends a script's name in a path; what follows is PATH_INFO. Empty: there is no script, and the whole path is PATH_INFO (applications)."),
    Setting::shape("cgi_params", "a table of templates such as { APP_ENV = \"production\" }", |draft: &mut ServiceDraft, row, given, out| {
        let groups = &draft.groups;
        let params = nested::texts((row, given), out, |name, value| {
            Ok((words::variable(name)?, words::template(value, groups)?))
        });
        draft.service.cgi.params = params.into_iter().collect();
    })
    .row("site", "{}", "{ APP_ENV = \"production\" }", "More parameters for FastCGI, SCGI and uwsgi servers, over the usual ones."),
    Setting::list("send_files", "absolute paths of directories", |draft: &mut ServiceDraft, list, wrong| {
        let paths = each_bare(list, absolute, wrong);
        draft.service.cgi.send_files = paths.into_iter().map(PathBuf::from).collect();
    })
    .row("site", "[]", "[\"/srv/shop/private\"]",
        "Directories whose files an origin may have sent by naming them in `X-Sendfile` or `X-Accel-Redirect`; without one the fields are not obeyed."),
];

/// Compression.
#[rustfmt::skip]
pub(crate) static COMPRESS: &[Setting<ServiceDraft>] = &[
    Setting::shape("compress", "true, false, or a list of \"br\", \"zstd\" and \"gzip\"", |draft: &mut ServiceDraft, row, given, out| {
        if let Some(on) = given.item.as_bool() {
            draft.compress = on;
            draft.codings = None;
            return;
        }
        let mut refused = Vec::new();
        let texts = nested::text_or_list((row, given), out);
        let codings: Vec<Coding> = each_bare(texts, words::coding, &mut refused);
        out.extend(given.refused(row, refused));
        draft.compress = true;
        draft.codings = Some(codings);
    })
    .row("site", "false", "[\"br\", \"gzip\"]", "Whether responses are compressed here for clients that take it, and how, the preferred first."),
    Setting::list("compress_types", "media types such as \"text/*\"", |draft: &mut ServiceDraft, list, wrong| {
        draft.compressing.types = each_bare(list, words::media_glob, wrong);
    })
    .between(1, u64::MAX)
    .row("site", "text, JSON, JavaScript, XML, WebAssembly, SVG, TTF and OTF", "[\"text/*\", \"application/json\"]", "What is compressed."),
    Setting::size("compress_min", |draft: &mut ServiceDraft, bytes| draft.compressing.min_bytes = bytes)
        .between(0, 1 << 30)
        .row("site", "\"1KiB\"", "\"256\"", "Shorter bodies are left as they are."),
];
