#!/usr/bin/env python3
"""Runs each hole's tests with its defence off. usage: seen.py [--green] [filter...]"""
import subprocess, sys, os, pathlib, glob, re, json, time
root='.'
M=pathlib.Path('/tmp/onyx-mutants'); M.mkdir(exist_ok=True)
ROWS=[
# hole, switches, tests
('1','git.settings','what_a_repository_names_does_not_run_at_any_tier'),
('1','git.plain git.settings','a_repository_written_as_plain_files_is_none_and_replaces_no_instruction'),
('1','git.plain','a_repository_written_as_plain_files_is_none_and_replaces_no_instruction'),
('1','offered.ready','a_tool_that_is_not_offered_does_not_run_and_the_call_is_audited'),
('1','offered.none','a_model_that_was_offered_no_tool_of_ours_cannot_call_one'),
('2','program.paths','under_taint_what_a_persons_own_programs_run_is_asked_for_and_says_why'),
('3','push.address','a_push_shows_where_what_and_which_commits_and_does_exactly_that'),
('3','push.commits','a_push_shows_where_what_and_which_commits_and_does_exactly_that'),
('3','push.files','a_push_shows_where_what_and_which_commits_and_does_exactly_that'),
('3','pull.address','a_push_shows_where_what_and_which_commits_and_does_exactly_that'),
('3','push.hash','a_remote_or_branch_that_changed_after_the_question_makes_the_approval_stale'),
('3','push.pack','a_push_shows_where_what_and_which_commits_and_does_exactly_that'),
('3','push.pack git.settings','a_push_shows_where_what_and_which_commits_and_does_exactly_that'),
('3','git.schemes','only_https_and_ssh_addresses_are_reached'),
('3','git.hosts','only_https_and_ssh_addresses_are_reached'),
('3','git.credential','a_credential_goes_to_its_host_alone_and_no_redirect_is_followed'),
('3','git.redirects','a_credential_goes_to_its_host_alone_and_no_redirect_is_followed'),
('3','sandbox.unix','an_approved_command_gets_neither_the_homes_socket_nor_its_key'),
('3','sandbox.unix','without_namespaces_an_approved_command_makes_no_unix_socket_either'),
('3','socket.key','the_socket_is_the_owners_and_asks_for_the_key_beside_it'),
('4','executed','a_script_that_is_swapped_while_its_run_waits_is_shown_again_and_does_not_run'),
('5','rule.options','no_option_of_a_program_in_a_rule_runs_another_unasked'),
('5','rule.taint','a_rule_for_a_program_that_can_run_anything_is_said_loudly_and_ends_with_taint'),
('5','rule.loud','a_rule_for_a_program_that_can_run_anything_is_said_loudly_and_ends_with_taint'),
('5','rule.shells','a_rule_for_what_runs_anything_is_no_config'),
('6','kept','a_command_that_only_a_rule_allowed_changes_no_instruction_and_proposes_it'),
('7','judge','foreign_instructions_are_evidence_and_wait_in_the_inbox'),
('7','judge.USER.md','foreign_text_in_what_agents_know_of_the_person_is_evidence_too'),
('7','judge.MEMORY.md','foreign_text_in_what_agents_know_of_the_person_is_evidence_too'),
('7','judge.actions','an_action_from_outside_runs_only_once_the_person_has_accepted_it'),
('7','skills.new','a_skill_of_the_vault_counts_while_it_is_what_the_person_accepted'),
('7','skills.changed','a_skill_of_the_vault_counts_while_it_is_what_the_person_accepted'),
('8','told.assistant','assistant_turns_that_a_client_tells_are_foreign_unless_they_are_known_answers'),
('8','told.chat','assistant_turns_that_a_client_tells_are_foreign_unless_they_are_known_answers'),
('8','told.messages','assistant_turns_that_a_client_tells_are_foreign_unless_they_are_known_answers'),
('8','told.responses','assistant_turns_that_a_client_tells_are_foreign_unless_they_are_known_answers'),
('8','names','folders_that_a_tainted_agent_named_taint_who_lists_them'),
('8','put','foreign_text_stays_foreign_however_a_person_touches_it_until_they_accept_it'),
('8','restore','foreign_text_stays_foreign_however_a_person_touches_it_until_they_accept_it'),
('8','origin.before','foreign_text_stays_foreign_however_a_person_touches_it_until_they_accept_it'),
('8','origin.here','foreign_text_stays_foreign_however_a_person_touches_it_until_they_accept_it'),
('8','origin.prints','foreign_text_stays_foreign_however_a_person_touches_it_until_they_accept_it'),
('8','origin.elsewhere','foreign_text_stays_foreign_however_a_person_touches_it_until_they_accept_it'),
('8','origin.here origin.before origin.elsewhere','foreign_text_stays_foreign_however_a_person_touches_it_until_they_accept_it'),
('8','command.running','files_of_a_command_that_still_runs_or_was_killed_are_foreign'),
('8','command.killed','files_of_a_command_that_still_runs_or_was_killed_are_foreign'),
('8','command.many','however_many_files_a_command_writes_none_becomes_the_persons_own'),
('9','failed.origin','what_a_command_said_before_it_was_stopped_or_failed_is_from_outside'),
('10','select.reach','a_conversation_goes_to_another_provider_only_if_a_person_agrees'),
('10','route.reach','a_conversation_goes_to_another_provider_only_if_a_person_agrees'),
('10','pinned.agent','an_agent_or_space_that_is_pinned_to_this_machine_uses_no_other_model'),
('10','pinned.space','an_agent_or_space_that_is_pinned_to_this_machine_uses_no_other_model'),
('10','pinned.tools','a_model_of_this_machine_answers_for_a_pinned_agent_and_asks_no_other'),
('10','pinned.asked','a_model_of_this_machine_answers_for_a_pinned_agent_and_asks_no_other'),
('11','search.bangs','no_word_of_a_search_is_a_command_to_the_engine'),
('11','search.redirects','a_search_follows_no_redirect_of_the_engine'),
('11','search.bytes','an_engine_that_answers_without_end_is_cut_off'),
('11','search.reach','a_tainted_run_asks_before_a_long_search_or_one_that_holds_an_address'),
('13','fetch.budget','few_links_of_a_page_are_fetched_without_asking_also_through_other_agents'),
('14','permit','a_first_password_is_set_only_by_who_may_do_all_that_it_opens'),
('14','permit','administration_alone_makes_nothing_that_reads_writes_or_chats'),
('15','approver','whoever_may_only_chat_approves_nothing_in_any_way'),
('16','page.key','a_cookie_alone_opens_no_route_not_even_to_read'),
('17','guess.names','wrong_guesses_for_one_name_keep_nobody_else_out'),
('17','guess.networks','another_address_of_this_machine_brings_no_new_guesses'),
('18','caps','a_flood_of_half_sent_requests_keeps_neither_health_nor_people_out'),
('18','caps.address','one_address_has_a_share_of_its_own_however_much_room_there_is'),
('18','caps.all','a_flood_of_half_sent_requests_keeps_neither_health_nor_people_out'),
('18','caps.loopback','one_address_has_a_share_of_its_own_however_much_room_there_is'),
('18','deadline.head','who_does_not_sign_in_is_let_go_within_seconds_and_who_has_stays'),
('18','deadline.body','while_all_guests_are_busy_only_health_and_people_who_signed_in_are_answered'),
('18','body.strangers','a_head_without_end_and_the_body_of_a_stranger_are_bounded'),
('18','head.size','a_head_without_end_and_the_body_of_a_stranger_are_bounded'),
('18','reserve.health','while_all_guests_are_busy_only_health_and_people_who_signed_in_are_answered'),
('18','reserve.people','while_all_guests_are_busy_only_health_and_people_who_signed_in_are_answered'),
('18','rlimit','a_server_takes_all_the_open_files_that_it_may_have'),
('19','docker.owner','containers_are_the_owners_and_off_unless_named'),
('19','docker.named','containers_are_the_owners_and_off_unless_named'),
('19','members','a_member_approves_changes_of_their_files_and_no_command'),
('20','visible.preview','what_is_to_be_approved_is_shown_with_its_hidden_characters_written_out'),
('20','visible.cli','what_is_to_be_approved_is_shown_with_its_hidden_characters_written_out'),
('20','visible.audit','the_audit_log_and_conversations_are_shown_with_their_hidden_characters_written_out'),
('21','audit.key','a_chain_that_is_made_anew_without_the_key_is_found'),
('21','audit.tail','a_missing_tail_is_found_also_when_the_head_is_moved_back'),
('21','audit.tail','an_older_copy_of_the_whole_database_is_found'),
('22','nosniff','browsers_take_every_answer_for_what_it_is_said_to_be'),
('22','source.names','a_sent_file_has_a_name_that_files_can_have'),
('22','helpers','the_reader_of_documents_is_held_before_it_reads_a_byte'),
('22','helpers','the_process_of_a_model_is_held_to_its_files'),
('22','cookie.secure','behind_tls_the_cookie_is_for_tls_alone'),
('22','mask.ring','a_key_in_an_event_is_masked_on_stderr_and_in_the_kept_log'),
('22','mask.stderr','a_key_in_an_event_is_masked_on_stderr_and_in_the_kept_log'),
('23','space.tier','in_a_space_an_agent_that_may_act_suggests_until_its_owner_raises_the_cap'),
]
args=sys.argv[1:]; green='--green' in args; args=[a for a in args if not a.startswith('--')]
binary=os.environ['IT']
names=subprocess.run([binary,'--list'],capture_output=True,text=True).stdout
full={l.split(': ')[0].rsplit('::',1)[-1]:l.split(': ')[0] for l in names.splitlines() if l.endswith(': test')}
def run(test, secs=100):
    t=time.time()
    try:
        r=subprocess.run([binary,'--exact',full[test]],capture_output=True,text=True,timeout=secs,cwd=root+'/crates/onyx')
        out=r.stdout+r.stderr; ok=r.returncode==0
    except subprocess.TimeoutExpired as x:
        out='TIMEOUT '+str((x.stdout or b'')[-500:]); ok=False
    return ok,out,time.time()-t
def panic(out):
    m=re.search(r"panicked at ([^\n]*):\n(.*?)(?:\nnote:|\nstack|\n\n|\Z)", out, re.S)
    return (m.group(1).replace(root,'')+' | '+' ⏎ '.join(m.group(2).splitlines())[:300]) if m else out[-300:].replace('\n',' ⏎ ')
for f in M.iterdir(): f.unlink()
done=set(); log=open('..txt','a')
for hole,sw,test in ROWS:
    if args and not any(a==hole or a in sw.split() or a in test for a in args): continue
    if test not in full: print('?? no test',test); continue
    if green:
        if test in done: continue
        done.add(test); ok,out,s=run(test)
        line=f"{'green' if ok else 'RED !!'} {hole} - {test} {s:.1f}s {'' if ok else panic(out)}"
    else:
        for x in sw.split(): (M/x).touch()
        ok,out,s=run(test)
        for x in sw.split(): (M/x).unlink()
        line=f"{'STAYS GREEN' if ok else 'red'} {hole} [{sw}] {test} {s:.1f}s {'' if ok else panic(out)}"
    print(line,flush=True); log.write(line+'\n'); log.flush()
