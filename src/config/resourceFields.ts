/** The fields of `resources` that the contract marks "do not use" (contract 000, "ResourceSpec"). */
export const UNUSED_RESOURCES: readonly string[] = ['orchestrator', 'executor'].flatMap((part) =>
  ['cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb', 'min_scale', 'max_scale']
    .filter((field) => part === 'orchestrator' || !field.endsWith('_scale'))
    .map((field) => `${part}_${field}`),
);

/** The fields of `resources` that have an effect (contract 000, "ResourceSpec"). */
export const RESOURCES: readonly string[] = [
  ...['min_scale', 'max_scale', 'cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb'],
  ...['queue_min_scale', 'queue_max_scale'],
  ...['queue_cpu', 'queue_cpu_limit', 'queue_memory_mb', 'queue_memory_limit_mb'],
  ...['cache_cpu', 'cache_cpu_limit', 'cache_memory_mb', 'cache_memory_limit_mb'],
  ...['labels', 'annotations', 'service_account_name', 'image_pull_secrets'],
  ...['volumes', 'volume_mounts', 'init_containers', 'sidecars'],
  ...['db_cpu', 'db_cpu_limit', 'db_memory_mb', 'db_memory_limit_mb', 'db_storage_gi', 'db_max_connections'],
];
