<?php
// The application of the session scenario (forebay bench session): two pages.
//
//   GET …/write?value=TEXT   keeps TEXT in a new session, redirects to …/read
//   GET …/read               shows it; nothing, if there is none
//
// Where sessions are kept is php's to say (session.save_handler and
// session.save_path). Everything below the folder is answered by this file.

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$page = basename($path);

header('Content-Type: text/plain');
header('Cache-Control: no-store');

if ($page === 'write') {
    // A store that cannot be reached must not pass for one that keeps sessions.
    if (!session_start()) {
        http_response_code(503);
        exit;
    }
    $_SESSION['value'] = $_GET['value'] ?? '';
    if (!session_write_close()) {
        http_response_code(503);
        exit;
    }
    header('Location: ' . substr($path, 0, -strlen('write')) . 'read', true, 302);
} elseif ($page === 'read') {
    if (!session_start(['read_and_close' => true])) {
        http_response_code(503);
        exit;
    }
    echo $_SESSION['value'] ?? '';
} else {
    http_response_code(404);
}
