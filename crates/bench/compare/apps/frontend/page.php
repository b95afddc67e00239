<?php
// The application behind the fronts, for FastCGI: a page that takes some
// milliseconds of processor time and then waits, as for a database.
// config.ru beside it does the same work with the same library.

const PAGE_BYTES = 4096;
const ITERATIONS = 10000;
const WAIT_US = 5000;

$key = openssl_pbkdf2('forebay', 'page', 32, ITERATIONS, 'sha256');
usleep(WAIT_US);

header('Content-Type: text/plain');
header('Content-Length: ' . PAGE_BYTES);
header('Cache-Control: no-store');
echo str_pad(bin2hex($key) . "\n", PAGE_BYTES, '.');
