import { createTypeScriptImportResolver, defaultConditionNames } from 'eslint-import-resolver-typescript';
import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/**
 * The rooms of `src/` and what each may use: rooms, and packages. Every room may use `domain`, which uses none.
 * CONTRIBUTING.md has the picture; this table is what holds it.
 */
const ARROWS = {
  domain: [],
  messages: [],
  traces: [],
  clients: ['traces', '@slipway/contract'],
  config: [],
  artifact: ['traces'],
  identity: ['config'],
  temporal: ['messages', 'traces', 'config'],
  check: ['clients', 'config', 'judge'],
  judge: ['clients', 'config'],
  activities: ['check', 'clients', 'artifact', 'config', 'identity', 'judge', 'messages', 'traces'],
  workflows: ['activities', 'messages'],
  metrics: ['activities', 'clients', 'messages', 'temporal', '@slipway/contract'],
  inspection: ['temporal', 'config', 'artifact', 'clients', 'messages'],
  dashboard: ['inspection', 'temporal', 'config', 'artifact', 'clients', 'identity', 'messages'],
  hooks: ['temporal', 'config', 'messages'],
  rehearsal: ['activities', 'artifact', 'clients', 'temporal', 'config', 'worker.ts', 'messages'],
  cli: [
    'messages',
    'temporal',
    'config',
    'artifact',
    'clients',
    'identity',
    'check',
    'judge',
    'rehearsal',
    'inspection',
    'dashboard',
    'hooks',
    'metrics',
    'worker.ts',
    'traces',
    '@slipway/contract',
    '@slipway/platform',
  ],
};

/** What every room may use of the contract: no schema, so that workflows may use them too. */
const EVERYWHERE = [
  'clientAddress',
  'clientErrors',
  'codedError',
  'json',
  'moment',
  'pick',
  'pythonAgent',
  'sameSecret',
  'secretReference',
  'traceparent',
];

/** The folders of the packages. */
const PACKAGES = { '@slipway/contract': 'contract/src', '@slipway/platform': 'platform/src' };

const zones = Object.entries(ARROWS).flatMap(([room, uses]) => {
  const target = `./src/${room}`;
  const own = [...new Set([room, 'domain', ...uses.filter((name) => !(name in PACKAGES))])];
  const packages = uses.filter((name) => name in PACKAGES).map((name) => PACKAGES[name]);
  const message = `src/${room} may use only: ${[...own, ...uses.filter((name) => name in PACKAGES)].join(', ')} (the arrows in eslint.config.js).`;
  return [
    { target, from: './src', except: own.map((name) => `./${name}`), message },
    {
      target,
      from: './packages',
      except: [...EVERYWHERE.map((name) => `contract/src/${name}.ts`), ...packages].map(
        (name) => `./${name}`,
      ),
      message,
    },
  ];
});
zones.push(
  {
    target: './packages/contract/src',
    from: ['./src', './packages/platform'],
    message: '@slipway/contract uses nothing of the project.',
  },
  {
    target: './packages/platform/src',
    from: './src',
    message: '@slipway/platform may use only @slipway/contract.',
  },
);

/** It is not installed everywhere: `loadPlatform` loads it, where it is needed. */
const PLATFORM = {
  regex: '^@slipway/platform',
  message: 'Load the platform with `loadPlatform`; `import type` only.',
  allowTypeImports: true,
};

export default tseslint.config(
  {
    ignores: [
      '**/dist',
      'node_modules',
      '**/fixtures/**',
      'examples',
      'coverage',
      // They import packages that only the benchmark installs: bench/peers/tsconfig.json.
      'bench/peers/{charts,dbos,restate}',
      '.slipway',
      'docs/.vitepress/{.temp,cache}',
    ],
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './src/dashboard/browser/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { 'import-x': importX },
    settings: {
      'import-x/resolver-next': [
        createTypeScriptImportResolver({
          project: './tsconfig.json',
          conditionNames: ['@slipway/source', ...defaultConditionNames],
        }),
      ],
    },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-empty': ['error', { allowEmptyCatch: false }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // With `verbatimModuleSyntax`, `import { type X }` loads X's module.
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      'import-x/no-default-export': 'error',
      'max-lines': ['error', 400],
      'import-x/no-restricted-paths': ['error', { zones }],
    },
  },
  {
    // Workflow code runs in Temporal's deterministic sandbox: nothing but the SDK, types, and pure functions.
    files: ['src/workflows/**/*.ts', 'src/messages/**/*.ts', 'src/domain/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex:
                '^(node:|zod|undici|hono|pino|@temporalio/(client|worker|activity)|(\\.\\./)+activities)',
              message: 'Workflow code and the domain stay deterministic and light: `import type` only.',
              allowTypeImports: true,
            },
            {
              regex: `^@slipway/(?!contract/(${EVERYWHERE.join('|')})$)`,
              message: 'The contract’s schemas are zod’s: `import type` only.',
              allowTypeImports: true,
            },
          ],
        },
      ],
      'no-restricted-globals': ['error', 'process', 'Buffer', 'fetch'],
    },
  },
  {
    files: ['src/workflows/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          "VariableDeclaration[kind='let']",
          'VariableDeclaration > VariableDeclarator > NewExpression[arguments.length=0]',
        ].flatMap((state) =>
          ['Program', 'Program > ExportNamedDeclaration'].map((place) => ({
            selector: `${place} > ${state}`,
            message: 'All workflows of a worker share a module: state of one belongs into `perWorkflow`.',
          })),
        ),
      ],
    },
  },
  {
    files: ['src/{cli,dashboard}/**/*.{ts,tsx}'],
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { patterns: [PLATFORM] }] },
  },
  {
    files: ['vitest.config.ts', 'examples/**', 'docs/.vitepress/**', 'test/support/postgresRunner.ts'],
    rules: { 'import-x/no-default-export': 'off' },
  },
  {
    // Longer than that before it was a rule.
    files: [
      'packages/platform/test/builder/buildRevision.test.ts',
      'packages/platform/test/controlPlane/routes/routes.test.ts',
      'test/domain/audit/audit.test.ts',
      'test/e2e/{mainJob,promotions}.test.ts',
      'test/workflows/world.ts',
    ],
    rules: { 'max-lines': 'off' },
  },
  {
    files: ['test/**/*.{ts,tsx}', 'packages/*/test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
);
