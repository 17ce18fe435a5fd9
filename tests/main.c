/* Runs all suites in one process, in this order: the last one looks at what the others have tested.
 * XOLSIM_SEED=N repeats a run with random words; CK_RUN_SUITE=name runs one suite. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests.h"

static uint64_t choose_seed(void)
{
    const char *text = getenv("XOLSIM_SEED");
    return text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
}

int main(void)
{
    Suite *(*const suites[])(void) = {
        notation_suite, table_suite,     reference_suite, decoder_suite,  classifier_suite, site_suite,
        image_suite,    simulator_suite, oracle_suite,    lockstep_suite, code_suite,       cli_suite,
        audit_suite,    cubes_suite,     answers_suite,   kernel_suite,   coverage_suite};
    const char *only = getenv("CK_RUN_SUITE");
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (suites[i]) srunner_add_suite(runner, suites[i]());
    seed = choose_seed();
    printf("XOLSIM_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run(runner, only, NULL, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    drop_tables();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
