import type { Migration } from '../../../store/migrate.ts';
import { THREADS_RUNS_PROCESSES } from './001_threads_runs_processes.ts';
import { LEASES } from './002_leases.ts';
import { ASSISTANTS } from './003_assistants.ts';
import { RUN_EVENTS } from './004_run_events.ts';
import { STORE_ITEMS } from './005_store_items.ts';
import { FOLLOWED_RUNS } from './006_followed_runs.ts';
import { RUNS_TO_FOLLOW } from './007_runs_to_follow.ts';

/** The tables of agent servers, step by step. A step that was released is never edited: add the next one. */
export const AGENT_MIGRATIONS: readonly Migration[] = [
  THREADS_RUNS_PROCESSES,
  LEASES,
  ASSISTANTS,
  RUN_EVENTS,
  STORE_ITEMS,
  FOLLOWED_RUNS,
  RUNS_TO_FOLLOW,
];
