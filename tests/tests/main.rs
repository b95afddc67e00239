//! Stories over real sockets, from basic to exotic. `cargo test -p
//! forebay-tests cache_` runs the themes whose name begins so.

#![allow(clippy::unwrap_used)]

mod common;
mod harness;
mod refusal;

mod basic;
mod forms;

mod bodies;
mod framing_chunks;
mod framing_request;
mod framing_response;
mod hostile_framing;
mod malformed_request;
mod poisoning;
mod reuse;
mod splits;
mod truncation;
mod uploads;

mod hop_by_hop;
mod interim;
mod upgrade;

mod pool_admin;
mod pool_balance;
mod pool_health;
mod pool_limit;
mod pool_names;
mod pool_retry;
mod pool_sticky;
mod pool_tls;
mod upstream;
mod upstream_failure;

mod app;
mod app_real;
mod app_trouble;
mod join;
mod listen_tls;

mod cache_freshness;
mod cache_memory;
mod cache_methods;
mod cache_overrides;
mod cache_partial;
mod cache_races;
mod cache_ranges;
mod cache_requests;
mod cache_stale;
mod cache_status;
mod cache_validation;
mod cache_vary;
mod coalescing;
mod coalescing_apart;
mod hostile_cache;
mod hostile_races;

mod disk;
mod disk_basic;
mod disk_damage;
mod disk_directories;
mod disk_failing;
mod disk_large;
mod disk_meaning;
mod disk_ranges;
mod disk_restart;
mod disk_slow;
mod disk_slow_purge;
mod disk_versions;
mod purge;
mod purge_api;
mod purge_bans;
mod purge_commands;
mod purge_fetch;
mod purge_methods;
mod purge_soft;
mod purge_survives;
mod purge_tags;

mod rules_access;
mod rules_address;
mod rules_fields;

mod cgi_applications;
mod cgi_fastcgi;
mod cgi_php;
mod cgi_scripts;
mod cgi_site;

mod session_basic;
mod session_command;
mod session_failing;
mod session_keep;
mod session_php;
mod session_tls;
mod session_tools;

mod compress;
mod files;
mod files_hostile;
mod files_large;

mod dashboard;
mod drain;
mod garbage;
mod life;
mod limits;
mod real_nginx;
mod seeing;
mod seeing_causes;
mod syscalls;
mod torture;

mod bench_agents;
mod bench_basic;
mod bench_kv;
mod bench_many;
mod bench_open;
mod bench_replay;
mod bench_report;
mod bench_scenario;
mod bench_server;
mod bench_session;
mod bench_tls;
mod bench_wrong;
